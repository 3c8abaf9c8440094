//! Mail: a message is sent in one transaction; what a mailbox hands out is asked of its actor.

use std::collections::BTreeMap;

use frith_store::{
    error::Failure,
    git::read::RepositoryIdentity,
    id::{AgentId, PlaceId},
    model::{Mailbox, Notice, Recipient},
    refusal::Refusal,
    rules::mail::can_list_sent,
    text::PathText,
    view::View,
};
use ractor::rpc::CallResult;

use super::{Call, reply, serialised};
use crate::{
    api::{
        Operation,
        agents::{Inbox, Send, SentMail},
    },
    call::Failed,
    caller::Caller,
    env::world::blocking,
    handlers::mail::{self, Live, Wanted},
    local::server::Answer,
    mailbox::{MailboxMsg, Returned},
    notice::{self, Event},
};

impl Call<'_> {
    pub(super) async fn mail(self, operation: Operation) -> Result<Answer, Failed> {
        match operation {
            Operation::AgentSend(request) => self.send(request).await,
            Operation::AgentInbox(request) => self.inbox(request).await,
            _ => Err(Refusal::Stale.into()),
        }
    }

    async fn send(self, request: Send) -> Result<Answer, Failed> {
        match request.to.as_deref() {
            Some(named) if !request.all_live => self.node.look_for_named(named).await?,
            _ => self.node.look_for_agents().await?,
        }
        let all = if request.all_live { self.of_one_repository().await? } else { Vec::new() };
        let (ctx, caller, call) = (self.node.ctx(), self.caller.clone(), self.envelope.call);
        let user = ctx.env.user.to_string();
        let sent = ctx.db.write_once(call, move |tx| mail::send(tx, &caller, &request, call, &user, &all)).await?;
        ctx.held.notify_one();
        self.notify_of(&sent);
        reply(&sent)
    }

    /// The live agents of this machine whose folder is of the sender's repository; where that is in none, those of its place.
    async fn of_one_repository(&self) -> Result<Vec<AgentId>, Failed> {
        let (ctx, caller, eyes) = (self.node.ctx(), self.caller.clone(), self.node.ctx().eyes());
        let known = ctx.db.read(move |view| Ok((mail::live_here(view, &caller, &eyes)?, sender_stands(view, &caller)?)));
        let (live, (folder, place)) = known.await?;
        let folders = ctx.env.folders.clone();
        let look = move || of_repository(live, folder, place, &|folder: &PathText| folders.repository(folder.as_path()));
        blocking(&ctx.env.blocking, look).await.map_err(Failed::from_work)
    }

    fn notify_of(&self, sent: &SentMail) {
        let (ctx, by) = (self.node.ctx(), self.caller.by());
        let Some(agent) = self.caller.agent() else { return };
        for message in &sent.messages {
            let what = format!("from agent {}", agent.short());
            match &message.to {
                Recipient::Place(place) => notice::raise(ctx, Event { place: *place, notice: Notice::Mail, by: Some(by.clone()), what }),
                Recipient::Person(person) => notice::raise_for_person(ctx, person.clone(), format!("{what}: frith agents inbox")),
                Recipient::Agent(_) => {}
            }
        }
    }

    async fn inbox(self, request: Inbox) -> Result<Answer, Failed> {
        let now = self.node.ctx().db.now();
        if request.sent {
            can_list_sent(request.mailbox.is_some(), request.unread)?;
            return self.read(move |view, caller| mail::sent(view, caller, &request, now)).await;
        }
        if let Some(named) = request.mailbox.clone() {
            return self.read(move |view, caller| mail::look_into(view, caller, &named, &request, now)).await;
        }
        let caller = self.caller.clone();
        let asked = self.node.ctx().db.read(move |view| Ok((mail::own_mailbox(view, &caller)?, Wanted::of(view, &caller, &request)?)));
        let (mailbox, wanted) = asked.await?;
        let Returned { letters, handed } = self.returned(mailbox, wanted).await?;
        // Nobody waits for the word that nothing arrived.
        if letters.messages.is_empty() { reply(&letters) } else { Ok(Answer::Handing { reply: serialised(&letters)?, handed }) }
    }

    async fn returned(&self, mailbox: Mailbox, wanted: Wanted) -> Result<Returned, Failed> {
        // One that ends since nobody used it for long may end just when it is asked.
        for _ in 0..2 {
            let Some(actor) = self.node.mailbox(mailbox.clone()).await else { break };
            let wanted = wanted.clone();
            if let Ok(CallResult::Success(returned)) = actor.call(|reply| MailboxMsg::Read(wanted, reply), None).await {
                return returned;
            }
        }
        let facts = vec!["the mailbox failed, and is started again in a moment".to_owned()];
        Err(Failed::Broken { facts, hint: Some("run it again; `frith logs` has the details".into()) })
    }
}

/// The folder and the place that the sender works in.
fn sender_stands(view: &View<'_>, caller: &Caller) -> Result<(Option<PathText>, Option<PlaceId>), Failure> {
    if let Some(agent) = caller.agent() {
        let agent = view.require_agent(agent)?;
        return Ok((agent.folder.or_else(|| caller.folder.clone()), agent.place));
    }
    let place = caller.folder.as_ref().map(|folder| view.place_with_folder(folder.as_path(), caller.here)).transpose()?.flatten();
    Ok((caller.folder.clone(), place))
}

/// Those whose folder is of the same repository as one; where that is of none, those of the same place.
fn of_repository(
    live: Vec<Live>,
    folder: Option<PathText>,
    place: Option<PlaceId>,
    look: &dyn Fn(&PathText) -> Option<RepositoryIdentity>,
) -> Vec<AgentId> {
    let mut looked: BTreeMap<PathText, Option<RepositoryIdentity>> = BTreeMap::new();
    let mut identity = |folder: &PathText| looked.entry(folder.clone()).or_insert_with(|| look(folder)).clone();
    let own = folder.as_ref().and_then(&mut identity);
    let is_of_it = |agent: &Live| match &own {
        Some(own) => agent.folder.as_ref().and_then(&mut identity).as_ref() == Some(own),
        None => place.is_some() && agent.place == place,
    };
    live.into_iter().filter(is_of_it).map(|agent| agent.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(n: u8, folder: &str, place: Option<u8>) -> Live {
        Live { id: AgentId::from_bytes([n; 16]), folder: folder.parse().ok(), place: place.map(|place| PlaceId::from_bytes([place; 16])) }
    }

    fn check(folder: &str, place: Option<u8>, expected: &[u8]) {
        let all = vec![live(1, "/a", Some(1)), live(2, "/a-clone", None), live(3, "/b", Some(1)), live(4, "/none", Some(1))];
        let look = |folder: &PathText| {
            let root = match folder.to_string().as_str() {
                "/a" | "/a-clone" => "aa",
                "/b" => "bb",
                _ => return None,
            };
            Some(RepositoryIdentity { root: root.into(), origin: None })
        };
        let place = place.map(|place| PlaceId::from_bytes([place; 16]));
        let found = of_repository(all, folder.parse().ok(), place, &look);
        assert_eq!(found, expected.iter().map(|n| AgentId::from_bytes([*n; 16])).collect::<Vec<_>>(), "{folder}");
    }

    #[test]
    fn a_message_to_all_goes_to_those_of_the_repository_else_to_those_of_the_place() {
        check("/a", Some(1), &[1, 2]);
        check("/b", None, &[3]);
        check("/elsewhere", Some(1), &[1, 3, 4]);
        check("/elsewhere", None, &[]);
    }
}
