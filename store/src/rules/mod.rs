//! Rules: records in, a plan or a refusal out. Pure: no rule reads a clock, a disk or a document.
