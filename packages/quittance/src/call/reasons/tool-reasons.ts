/** Reason codes for the tool, its input and output, and the ledger. */
import type { Reason } from './reason.ts';

export type ToolReasonCode =
  | 'tool.timeout'
  | 'tool.network_error'
  | 'tool.execution_error'
  | 'tool.reported_error'
  | 'tool.cancelled'
  | 'ledger.unavailable'
  | 'tool.invalid_input'
  | 'tool.invalid_output'
  | 'tool.unknown'
  | 'tool.fixture_missing'
  | 'tool.indeterminate'
  | 'ledger.altered';

export const toolReasons: { readonly [Code in ToolReasonCode]: Reason } = {
  'tool.timeout': {
    whoseMove: 'retry',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'retry',
    title: 'The tool took too long',
    whatHappened:
      'The body was still running at its deadline. The deadline is the earliest of the tool timeout, the default of five minutes and the end of the turn.',
    whyItMatters:
      'The signal was aborted and the caller got its answer, but a body that ignores the signal may still finish. Its late result is stored with the call and does not change the outcome.',
    forModel:
      'The tool did not finish in time. Try again later, unless the error says that it may have happened.',
    whatToDo:
      'Retry later, or give the tool a longer timeout. If the tool is safe to repeat, set `idempotent: true`. Any other timed-out call waits for its late result or for a person.',
  },
  'tool.network_error': {
    whoseMove: 'retry',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'retry',
    title: 'A service could not be reached',
    whatHappened: 'The body could not reach the system it depends on, or lost the connection to it.',
    whyItMatters: 'Such problems are usually temporary. Other arguments do not help.',
    forModel:
      'A service the tool needs could not be reached. Try again after a pause, unless the error says that it may have happened.',
    whatToDo: 'Retry after a pause. If it persists, check the service.',
  },
  'tool.execution_error': {
    whoseMove: "the tool's author",
    retryable: true,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'retry',
    title: 'The tool crashed',
    whatHappened: 'The body threw an unexpected error.',
    whyItMatters:
      'It is unknown how far the body got. The thrown value is stored in the payload extras of the call.',
    forModel:
      'The tool crashed while it ran. Read the error. Try again only if the answer says that it is retryable.',
    whatToDo:
      'Read the payload extras (`exception_type`, the trace, the recorded progress) and fix the body. Throw an expected failure as a ToolError with its own code.',
  },
  'tool.reported_error': {
    whoseMove: 'your inputs',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'read_error',
    title: 'The tool reported an error',
    whatHappened:
      'The body ran to its end and returned an error, or the success check treated its return value as one.',
    whyItMatters: 'The tool knows what it did, so the effect is known.',
    forModel: 'The tool ran and reported an error. Read the error and change what it names.',
    whatToDo:
      'Read the error: it usually names what to change. If a success was treated as an error, give the tool its own success check.',
  },
  'tool.cancelled': {
    whoseMove: 'retry',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'retry',
    title: 'The call was cancelled',
    whatHappened:
      'The call was cancelled, or its owner process died, before the body began. Or it was cancelled while a body that may be rerun was running.',
    whyItMatters: 'No harm is possible: either nothing happened, or a repeat does no harm.',
    forModel: 'The call was cancelled without a lasting effect. Make it again if it is still wanted.',
    whatToDo: 'Request it again under a new call id if it is still wanted.',
  },
  'ledger.unavailable': {
    whoseMove: 'retry',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'retry',
    title: 'The ledger could not store the call',
    whatHappened:
      'The intent could not be written, so the body was not started and the call was not accepted.',
    whyItMatters: 'The ledger exists to prevent bodies that run without a record.',
    forModel: 'The call could not be recorded and did not run. Try again later.',
    whatToDo:
      'Retry with the same call id once the ledger works. If it persists, check the disk or the database behind it.',
  },
  'tool.invalid_input': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'fix_arguments',
    title: 'The arguments do not match the schema',
    whatHappened:
      "The arguments were not a JSON object or did not match the tool's input schema, and neither coercion nor repair fixed them.",
    whyItMatters:
      'The same arguments will be rejected again. The body did not see them, unless the body itself rejected them.',
    forModel:
      'The arguments do not match the schema of the tool. Correct what the details name and call it again.',
    whatToDo:
      'Send arguments that match the schema; the details name each path. If a model writes them, show it an example. If the schema is too strict, relax the field.',
  },
  'tool.invalid_output': {
    whoseMove: "the tool's author",
    retryable: false,
    blocksTool: false,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'use_another_tool',
    title: 'The output cannot be used',
    whatHappened:
      "The body's return value does not match the tool's output schema, has no JSON form, or could not be checked. A check fails if it throws, gives no answer or runs out of time.",
    whyItMatters: 'The body ran, and its effect may be real. Only its output is unusable.',
    forModel: 'The tool ran, but its output is unusable. Do not repeat the call.',
    whatToDo:
      'Fix the body so that it returns what the schema says, or correct the schema if the value is right. If a check failed, the log of the call says how. The caller cannot fix it.',
  },
  'tool.unknown': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_another_tool',
    title: 'There is no such tool',
    whatHappened: 'The name of the call is not the name of a tool in this turn.',
    whyItMatters: 'Nothing ran. The error lists the nearest names.',
    forModel: 'There is no tool with this name. Use one of the tools you were given.',
    whatToDo: 'Call an existing tool, or register the missing one with the runtime.',
  },
  'tool.fixture_missing': {
    whoseMove: 're-record',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 're_record',
    title: 'The cassette has no such call',
    whatHappened: 'In a replay, no recorded call has this tool and these arguments.',
    whyItMatters: 'A replay never has outside effects, so the tool is not run to fill the gap.',
    forModel: 'This call was not recorded, so it has no answer here. Continue without it.',
    whatToDo:
      'Record the run again with the current arguments, or find out why they changed: the error names the nearest recording.',
  },
  'tool.indeterminate': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'await_person',
    title: 'It is unknown whether the call took effect',
    whatHappened: 'The body started, its end was never recorded, and the tool may not be rerun.',
    whyItMatters: 'A rerun could repeat the effect; treating the call as undone could be wrong too.',
    forModel: 'It is unknown whether the call took effect. Do not repeat the call; a person has to find out.',
    whatToDo:
      'Check the system that the tool talks to and resolve the call, or give the tool a `reconcile` function that does. If the tool is safe to repeat, set `idempotent: true`.',
  },
  'ledger.altered': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'await_person',
    title: 'Stored content was changed',
    whatHappened:
      'The stored content of the call, or of an artifact it needs, does not match its recorded digest. The runtime found this before the body received any of it.',
    whyItMatters:
      'An approval is for one exact input. The file, the database or an artifact was changed after it was written, so nothing may run with it.',
    forModel: 'The stored content of this call was changed, so it was not run. A person must investigate.',
    whatToDo:
      'Run `quittance verify`: it lists every change. Find out who can write to the folder of the ledger, restore a backup, and make the call again under a new id.',
  },
};
