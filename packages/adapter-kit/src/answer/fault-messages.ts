/**
 * Errors of the program, in words for the model. Several frameworks send the message of a thrown error to their
 * model, and some show the developer nothing else. The message therefore states facts about the call. The cause holds
 * the error for the developer, and `onTrouble` receives it too.
 */
import type { ErrorCode } from 'quittance/internal/base/error';
import { isQuittanceError, QuittanceError } from 'quittance/internal/base/error';
import { quote } from 'quittance/internal/base/nearest';
import { describeThrown } from 'quittance/internal/tool/describe-thrown';
import type { OnTrouble } from 'quittance/internal/runtime/telemetry';
import { warnOfTrouble } from 'quittance/internal/runtime/telemetry';
import { isToolOutcomeError } from './outcome-error.ts';

/** On every error that may reach a model, from any copy of this package. */
const mark: unique symbol = Symbol.for('quittance.for_model');

const isForModel = (error: unknown): error is Error => error instanceof Error && mark in error;

/** Some frameworks send the text of an error with its name instead of the message. */
const tellable = <Thrown extends Error>(error: Thrown): Thrown =>
  Object.defineProperties(error, { [mark]: { value: true }, toString: { value: () => error.message } });

type Facts = Readonly<Record<string, string>>;

const correction = 'Only the program that runs the agent can correct this.';
const endUnknown = `The call could not be completed, and it is unknown whether it had an effect. Do not repeat it. ${correction}`;

/** A call that was not made. `happened` is for the model; `developer` says what to change in the program. */
export const notMade = (
  happened: string,
  developer: string | Error,
  facts: Facts = {},
  code: ErrorCode = 'config.invalid',
): QuittanceError =>
  tellable(
    new QuittanceError(
      code,
      `${happened} Nothing ran. ${correction}`,
      facts,
      typeof developer === 'string' ? new Error(developer) : developer,
    ),
  );

/** Converts errors to text that a framework may send to its model. */
export type FaultMessages = {
  forModel(toolName: string, error: unknown): Error;
  /** Runs the function that a framework calls for a tool, and converts its errors for the model. */
  guard<Result>(toolName: string, work: () => Promise<Result>): Promise<Result>;
};

export function createFaultMessages(onTrouble: OnTrouble = warnOfTrouble): FaultMessages {
  const forModel: FaultMessages['forModel'] = (toolName, error) => {
    if (isToolOutcomeError(error)) return error;
    const shown = isForModel(error) ? error : toTellable(error);
    const { code } = shown as { readonly code?: unknown };
    // A waiting call is not an error. A forged approval of a client is not an error of the program.
    if (code !== 'call.pending' && code !== 'confirmation.unknown')
      onTrouble({
        type: 'call.fault',
        toolName,
        error: shown.cause,
        message: `A call of the tool ${quote(toolName)} could not be made or completed: ${describeThrown(shown.cause)}`,
      });
    return shown;
  };
  return {
    forModel,
    async guard(toolName, work) {
      try {
        return await work();
      } catch (error) {
        throw forModel(toolName, error);
      }
    },
  };
}

function toTellable(error: unknown): Error {
  // Thrown by a callback of the host, or by the framework.
  if (!isQuittanceError(error)) return tellable(new Error(endUnknown, { cause: error }));
  const { code, facts } = error;
  if (code === 'call.pending') return tellable(new QuittanceError(code, stillOpen(facts), facts, error));
  const why = beforeTheBody.get(code);
  return why === undefined
    ? tellable(new QuittanceError(code, endUnknown, facts, error))
    : notMade(`The call was not made, because ${why}.`, error, facts, code);
}

const isSetUpWrong = 'its program is configured incorrectly';
/** Errors raised before a tool could run. After any other error the tool may have run. */
const beforeTheBody: ReadonlyMap<ErrorCode, string> = new Map([
  ['runtime.closed', 'its program is stopping'],
  ['config.invalid', isSetUpWrong],
  ['adapter.unsafe', isSetUpWrong],
  ['contracts.invalid', isSetUpWrong],
  ['call.malformed', isSetUpWrong],
  ['confirmation.unknown', isSetUpWrong],
  ['confirmation.forbidden', isSetUpWrong],
]);

const stillOpen = ({ confirmationId, waitsFor }: Facts): string =>
  confirmationId === undefined
    ? 'The call has not ended: another process runs it. Do not repeat it.'
    : `The call has not run: it awaits approval.${waitsFor === undefined ? '' : ` ${waitsFor}`} Do not repeat it.`;
