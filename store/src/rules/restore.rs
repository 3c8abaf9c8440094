//! Going on in the place of a machine from its backup (machines.md, "Restored or cloned disks").

use crate::{
    id::MachineId,
    model::{Machine, Role},
    refusal::Refusal,
};

/// That a new machine may go on in the place of one that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacePlan {
    gone: MachineId,
    role: Role,
}

impl ReplacePlan {
    /// The machine that is gone.
    pub fn gone(&self) -> MachineId {
        self.gone
    }

    /// What it could do in its team, and so what the new one may.
    pub fn role(&self) -> Role {
        self.role
    }
}

/// Whether `here` may go on in the place of `gone`. `members` are the machines of the team in whose place no other goes on.
/// Nobody has to be asked where nobody else is; where somebody is, a machine has to join again.
///
/// # Errors
/// [`Refusal::OtherMembers`].
pub fn can_replace(members: &[Machine], gone: MachineId, here: MachineId) -> Result<ReplacePlan, Refusal> {
    let others: Vec<_> = members.iter().map(|machine| machine.id).filter(|id| *id != gone && *id != here).collect();
    if !others.is_empty() {
        return Err(Refusal::OtherMembers { machines: others });
    }
    let role = members.iter().find(|machine| machine.id == gone).map_or(Role::Admin, |machine| machine.role);
    Ok(ReplacePlan { gone, role })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{rules::samples::HERE, time::Timestamp};

    fn machine(n: u8) -> Machine {
        let id = MachineId::from_bytes([n; 8]);
        Machine { id, name: "m".into(), role: Role::Admin, joined: Timestamp::default(), public_key: [n; 32] }
    }

    #[test]
    fn a_machine_alone_is_replaced_and_one_among_others_is_not() {
        let gone = machine(8);
        assert_eq!(can_replace(std::slice::from_ref(&gone), gone.id, HERE).unwrap().gone(), gone.id);
        let others = [gone.clone(), machine(9)];
        assert_eq!(can_replace(&others, gone.id, HERE), Err(Refusal::OtherMembers { machines: vec![machine(9).id] }));
    }
}
