//! OPTIMIZE of a table whose layout is `auto`: the model chooses a design for the recorded workload. Nothing is measured, so that the
//! design stays unless the model promises much.

use crate::Result;
use crate::advisor::{Candidate, StatementUse, TableFacts, model, propose, rank, recorded};
use crate::session::{StatementContext, TargetTable};
use crate::sql::parse::parse_single;
use crate::statements::uses::uses_of;
use gingham_storage::TableDefinition;
use gingham_storage::model::Arrangement;

/// Less than this share of the present design's time must be promised, or the design stays.
const WORTH_IT: f64 = 0.8;

/// The arrangement that a table of layout `auto` is to have, its reason among it; `None` for other tables.
pub(super) async fn chosen(context: &StatementContext, target: &TargetTable) -> Result<Option<Arrangement>> {
    let definition = &target.table.definition;
    if definition.auto.is_none() {
        return Ok(None);
    }
    let uses = recorded_uses(context).await;
    let facts = TableFacts::of(&target.table);
    let concerned = uses.iter().filter(|(_, uses)| concerns(uses, definition)).count();
    if concerned == 0 {
        let reason = "kept by OPTIMIZE: no recorded statement concerns the table (SET gingham.record_workload = true)";
        return Ok(Some(kept(definition, reason.to_owned())));
    }
    let mut candidates = propose(&facts, &uses);
    let isa = context.settings().effective_isa();
    let present = model(&facts, &candidates.remove(0), &uses, isa)?.nanoseconds;
    let ranked = rank(&facts, candidates, &uses, isa)?.into_iter();
    let best = ranked.min_by(|a, b| a.1.nanoseconds.total_cmp(&b.1.nanoseconds));
    let Some((best, modelled)) = best else {
        return Ok(Some(kept(definition, "kept by OPTIMIZE: there is no other design".to_owned())));
    };
    let (share, text) = (modelled.nanoseconds / present.max(1.0), best.text(definition));
    let promised = format!("{:.0} % less time for {concerned} recorded statements", (1.0 - share) * 100.0);
    if share > WORTH_IT {
        let reason = format!("kept by OPTIMIZE: the model promises {promised} of {text}, and 20 % are asked for");
        return Ok(Some(kept(definition, reason)));
    }
    let reason = format!("chosen by OPTIMIZE: the model promises {promised}");
    Ok(Some(Arrangement { auto: Some(reason), ..best.arrangement(definition) }))
}

fn kept(definition: &TableDefinition, reason: String) -> Arrangement {
    Arrangement { auto: Some(reason), ..Candidate::present(definition).arrangement(definition) }
}

fn concerns(uses: &StatementUse, definition: &TableDefinition) -> bool {
    let name = &definition.name;
    uses.tables.iter().any(|scan| scan.table == *name) || uses.write.as_ref().is_some_and(|write| write.table == *name)
}

/// What the recorded statements ask, each with its weight; those that can't be bound any more are left out.
async fn recorded_uses(context: &StatementContext) -> Vec<(f64, StatementUse)> {
    let mut uses = Vec::new();
    for statement in recorded(&context.session.engine.recorder) {
        let Ok(parsed) = parse_single(&statement.text) else { continue };
        uses.extend(uses_of(context, parsed).await.ok().map(|found| (statement.weight, found)));
    }
    uses
}
