/** The questions that wait for a caller, for the number that their pages show. */
import { allows } from '../runtime/host/rights.ts';
import { shownIdBy } from '../base/safe-id.ts';
import type { Actor } from './actor.ts';
import { identityOf } from './actor.ts';
import type { MyQuestions } from './api/me.ts';
import type { Service } from './service.ts';

/** A person with more open questions needs no exact number, and reading them all would take too long. */
const mostRead = 100;
const mostNamed = 10;

export async function readMyQuestions({ runtime }: Service, actor: Actor): Promise<MyQuestions> {
  if (!allows(actor.role, 'approver')) return { count: 0, more: false, rows: [] };
  const person = { by: actor.name, identity: identityOf(actor) };
  const { rows, next } = await runtime.confirmations.listFor(person, { limit: mostRead });
  return {
    count: rows.length,
    more: next !== undefined,
    rows: rows.slice(0, mostNamed).map(({ confirmationId, displayName, toolName }) => ({
      confirmationId,
      tool: shownIdBy(runtime.redactor, displayName || toolName),
    })),
  };
}
