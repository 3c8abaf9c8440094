# Shortcuts; none of them is needed. `./check` is what CI runs.

# Format, lints, build, tests.
check:
    ./check

# The measurements of tests/benches/README.md.
bench:
    cargo bench --locked -p frith-tests

# Whole sessions of real coding agents against a scripted model; they are installed below target/. With names: those alone.
hosts *names:
    cargo build --locked --workspace
    tests/hosts/run {{names}}

# Review the snapshots of transcripts that changed.
snapshots:
    INSTA_UPDATE=always cargo test --locked -p frith-tests
    git diff --stat -- '*.snap'

# Many more messages than CI sends.
soak:
    FRITH_TEST_MESSAGES=10000 cargo nextest run --locked -p frith-tests --test mail_load --test hooks_killed
