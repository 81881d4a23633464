/** `runtime.confirmations`: the questions that held calls put to people, and the answers. */
import type { JsonObject } from '../base/json.ts';
import type { Page } from '../ledger/call-query.ts';
import type { ConfirmationQuery } from '../ledger/confirmation-query.ts';
import { orUnavailable } from './host/ledger-trouble.ts';
import type { PersonDecision } from './hold/keep-decision.ts';
import type { ConfirmationView } from './host/confirmation-view.ts';
import { decideConfirmation } from './people/decide-confirmation.ts';
import type { LinkOptions, LinkUse } from './people/decision-token.ts';
import { decideByToken, makeDecisionToken, whyNotByToken } from './people/decision-token.ts';
import type { Asked } from './people/list-confirmations.ts';
import { listConfirmations, listQuestionsFor } from './people/list-confirmations.ts';
import { remindOf } from './people/remind.ts';
import type { EditTrial } from './people/try-edit.ts';
import { tryEdit } from './people/try-edit.ts';
import type { RuntimeCore } from './runtime-core.ts';

/** The questions of held calls. */
export interface RuntimeConfirmations {
  /** Questions to people, newest first, a page at a time. */
  list(query?: ConfirmationQuery): Promise<Page<ConfirmationView>>;
  /** Open questions that wait for this person: rules and rights let them answer, and they have not answered yet. */
  listFor(
    person: Asked,
    query?: Pick<ConfirmationQuery, 'limit' | 'cursor'>,
  ): Promise<Page<ConfirmationView>>;
  /** Decides about a held call. The first decision counts; a second one is refused with the name of the first person. */
  decide(confirmationId: string, decision: PersonDecision): Promise<ConfirmationView>;
  /**
   * Tries edited arguments without deciding: do they fit the schema, and do rules let them run? An edit that does not is
   * refused by `decide` too, and the question stays open.
   */
  tryEdit(confirmationId: string, edited: JsonObject): Promise<EditTrial>;
  /**
   * Makes the token of a decision link: signed text that decides one question, for a link or a message. It is bound to
   * the input and the preview as they are shown now. It ends at its time, or when the question is decided.
   */
  link(confirmationId: string, options: LinkOptions): Promise<string>;
  /** Decides with the token of a link. The checks are those of `decide`. */
  decideByLink(token: string, use: LinkUse): Promise<ConfirmationView>;
  /** Why `decideByLink` would refuse this now; undefined if it would not. For a page that shows it before a person decides. */
  whyNotByLink(token: string, use: LinkUse): Promise<string | undefined>;
  /**
   * Records that the question still waits, as `confirmation.reminded`: for the last of these times that has come, and for
   * times that rules set. Each is recorded once, whatever process asks for it. Times are in milliseconds since 1970, by
   * the ledger's clock. Returns the next time, or undefined if nothing is left to record.
   */
  remind(confirmationId: string, times: readonly number[]): Promise<number | undefined>;
  /**
   * Announces a decision that is arriving, for example when the head of its request is read. Name the question if it is
   * known already. Questions that this runtime holds do not expire meanwhile, for 10 seconds at most, so that a denial
   * with this `receivedAt` still counts. Call the returned function once the decision was made, refused or given up.
   */
  expect(confirmationId?: string, receivedAt?: number): () => void;
}

export function createRuntimeConfirmations(state: RuntimeCore): RuntimeConfirmations {
  const { engine } = state;
  return {
    list: (query = {}) => orUnavailable(listConfirmations(engine, query)),
    listFor: (person, query = {}) => orUnavailable(listQuestionsFor(engine, person, query)),
    decide: (confirmationId, decision) => orUnavailable(decideConfirmation(state, confirmationId, decision)),
    tryEdit: (confirmationId, edited) => orUnavailable(tryEdit(engine, confirmationId, edited)),
    link: (confirmationId, options) => orUnavailable(makeDecisionToken(engine, confirmationId, options)),
    decideByLink: (token, use) => orUnavailable(decideByToken(state, token, use)),
    whyNotByLink: (token, use) => orUnavailable(whyNotByToken(engine, token, use)),
    remind: (confirmationId, times) => orUnavailable(remindOf(engine, confirmationId, times)),
    expect: (confirmationId, receivedAt = engine.ledger.now()) =>
      engine.arriving.note(confirmationId, receivedAt),
  };
}
