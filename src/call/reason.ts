/**
 * Why something did not succeed: one stable word per cause, and everything that follows from it. The types,
 * the retry defaults, the blocking of tools, the derived tool results and `docs/reason-codes.md` are read from
 * this table and from nowhere else.
 */
import { freezeJson } from '../base/json.ts';

/** Who can do something about it. */
export type WhoseMove =
  'retry' | 'your inputs' | "the tool's author" | 're-record' | 'budget' | 'a person' | 'nobody';

/** What a machine may do next; the `nextAction` of a derived ToolResult. */
export type NextAction =
  | 'retry'
  | 'read_error'
  | 'fix_arguments'
  | 'change_request'
  | 'use_another_tool'
  | 'use_earlier_result'
  | 'use_new_id'
  | 'read_answer'
  | 'ask_again'
  | 'await_person'
  | 're_record'
  | 'stop';

/** What one reason code means and brings about. */
export type Reason = {
  readonly whoseMove: WhoseMove;
  /** Whether the same call may be tried again, unless the outcome itself says otherwise. */
  readonly retryable: boolean;
  /** Whether a failure with this code that may not be retried closes the tool for the rest of the turn. */
  readonly blocksTool: boolean;
  /** Whether a body may give this code in a ToolError. Any other is for the runtime to say. */
  readonly bodyMayClaim: boolean;
  /** Whether a ToolResult derived from it ends the turn. */
  readonly terminal: boolean;
  readonly nextAction: NextAction;
  readonly title: string;
  readonly whatHappened: string;
  readonly whyItMatters: string;
  /** For the model: facts about the call and what it may do next. Names no function, no option, no way round a person. */
  readonly forModel: string;
  /** For the developer: options, functions, where to look. */
  readonly whatToDo: string;
};

/** The stable machine word for why something did not succeed. */
export type ReasonCode =
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
  | 'ledger.altered'
  | 'policy.hook'
  | 'policy.contract'
  | 'policy.output'
  | 'policy.protected'
  | 'budget.tool_calls_exhausted'
  | 'budget.cost_exhausted'
  | 'call.duplicate'
  | 'call.loop'
  | 'call.twin'
  | 'call.blocked'
  | 'call.conflict'
  | 'turn.deadline'
  | 'turn.ended'
  | 'confirmation.rejected'
  | 'confirmation.answered'
  | 'confirmation.expired'
  | 'preview.failed';

/** Every reason code with what it means, whose move it is and what follows from it. */
export const reasonTable: { readonly [Code in ReasonCode]: Reason } = freezeJson({
  'tool.timeout': {
    whoseMove: 'retry',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'retry',
    title: 'The tool took too long',
    whatHappened:
      'The body was still running when its deadline came: the smallest of the tool timeout, the default of five minutes and what was left of the turn.',
    whyItMatters:
      'Its signal was aborted and the caller was answered, but a body that ignores the signal may still finish. What it gives then is kept on the call and changes nothing.',
    forModel:
      'The tool did not finish in time. Try again later, unless the error says that it may have happened.',
    whatToDo:
      'Try again later, or give the tool a longer timeout. A tool that is safe to repeat should say `idempotent: true`; any other timed-out call waits for its late result or for a person.',
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
    whyItMatters: 'Such trouble passes by itself more often than not. No change of the arguments helps.',
    forModel:
      'A service the tool needs could not be reached. Try again after a pause, unless the error says that it may have happened.',
    whatToDo: 'Try again after a pause. If it stays, look at the service.',
  },
  'tool.execution_error': {
    whoseMove: "the tool's author",
    retryable: true,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'retry',
    title: 'The tool broke',
    whatHappened: 'The body threw an error that it does not declare.',
    whyItMatters:
      'Nothing is known about how far it came. What was thrown is kept in the payload extras of the call.',
    forModel:
      'The tool broke while it ran. Read the error; try again only where the answer says that it is retryable.',
    whatToDo:
      'Read the payload extras (`exception_type`, the trace, what the body recorded) and mend the body. A failure that is foreseen should be thrown as a ToolError with a code of its own.',
  },
  'tool.reported_error': {
    whoseMove: 'your inputs',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'read_error',
    title: 'The tool said it did not work',
    whatHappened:
      'The body ran to its end and returned an error, or the success check took what it returned for one.',
    whyItMatters: 'The tool knows what it did and says so: nothing is left in doubt.',
    forModel: 'The tool ran and reports that it did not work. Read the error and change what it names.',
    whatToDo:
      'Read the error: it usually names what to change. If a success was taken for an error, give the tool a success check of its own.',
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
      'The call was cancelled, or the process that owned it died, before the body began; or it was cancelled while the body of a tool that may be run again was running.',
    whyItMatters: 'Nothing is left in doubt: either nothing happened, or doing it again does no harm.',
    forModel: 'The call was cancelled and did nothing that matters. Make it again if it is still wanted.',
    whatToDo: 'Ask again under a new call id if it is still wanted.',
  },
  'ledger.unavailable': {
    whoseMove: 'retry',
    retryable: true,
    blocksTool: true,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'retry',
    title: 'The ledger could not take the call',
    whatHappened:
      'The intent could not be written, so the body was not started and the call was not accepted.',
    whyItMatters: 'A body that runs without a trace is what the ledger is there to prevent.',
    forModel: 'The call could not be recorded and did not run. Try again later.',
    whatToDo:
      'Ask again with the same call id once the ledger answers. If it stays, look at the disk or the database behind it.',
  },
  'tool.invalid_input': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'fix_arguments',
    title: 'The arguments do not fit the tool',
    whatHappened:
      "The arguments were no JSON object or did not match the tool's input schema, and neither coercion nor repair could mend them.",
    whyItMatters:
      'The same arguments will be refused again. Unless it was the body that refused them, it never saw them.',
    forModel: 'The arguments do not fit the tool. Correct what the details name and call it again.',
    whatToDo:
      'Send arguments that match the schema; the details name each path. If a model writes them, show it an example; if the schema is too strict, relax the field.',
  },
  'tool.invalid_output': {
    whoseMove: "the tool's author",
    retryable: false,
    blocksTool: true,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'use_another_tool',
    title: 'The tool returned something it did not promise',
    whatHappened:
      "What the body returned does not match the tool's output schema, or is nothing JSON can hold.",
    whyItMatters: 'The body ran, and its effect may be real. Only its answer is of no use.',
    forModel: 'The tool ran, but its answer is of no use. Do not repeat the call; use another tool.',
    whatToDo:
      'Mend the body so that it returns what the schema says, or correct the schema if the value is right. The caller can do nothing about it.',
  },
  'tool.unknown': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_another_tool',
    title: 'There is no such tool',
    whatHappened: 'The name of the call is not the name of a tool of this turn.',
    whyItMatters: 'Nothing ran. The nearest names are in the error.',
    forModel: 'There is no tool of this name. Use one of the tools you were given.',
    whatToDo: 'Call one of the tools that exist, or register the missing one with the runtime.',
  },
  'tool.fixture_missing': {
    whoseMove: 're-record',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 're_record',
    title: 'The cassette holds no such call',
    whatHappened: 'In a replay, no recorded call has this tool and these arguments.',
    whyItMatters: 'A replay never touches the world, so a miss is never filled by running the tool.',
    forModel: 'This call was not recorded, so it has no answer here. Go on without it.',
    whatToDo:
      'Record the run again with the arguments of today, or find out why they changed: the nearest recording is in the error.',
  },
  'tool.indeterminate': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: true,
    terminal: false,
    nextAction: 'await_person',
    title: 'Nobody knows whether it happened',
    whatHappened:
      'The body started, its end was never recorded, and the tool is not one that may be run again.',
    whyItMatters:
      'Running it again could do the same thing twice; taking it for undone could be wrong as well.',
    forModel: 'Nobody knows whether it happened. Do not repeat the call; a person has to find out.',
    whatToDo:
      'Look in the system the tool talks to and resolve the call, or give the tool a `reconcile` that does. A tool that is safe to repeat should say `idempotent: true`.',
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
      'What the ledger holds of the call, or of an artifact it needs, is not what was recorded: its digest is another one. The runtime found this before the body got any of it.',
    whyItMatters:
      'An approval is about one exact input. Somebody or something changed the file, the database or an artifact after it was written, so nothing may run with it.',
    forModel: 'What is stored of this call was changed, so it was not run. A person has to look into it.',
    whatToDo:
      'Run `quittance verify`: it lists every place that was changed. Find out who can write to the folder of the ledger, restore it from a copy, and make the call again under a new id.',
  },
  'policy.hook': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A hook of the host said no',
    whatHappened: 'A hook that looks at calls before they run blocked this one, or failed to answer.',
    whyItMatters: 'The body never ran. The same call will meet the same hook.',
    forModel: 'A check did not allow the call. Ask for something else that meets the reason given.',
    whatToDo:
      'Ask for something the hook allows; its reason is in the details. Otherwise the host changes the hook.',
  },
  'policy.contract': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A contract said no',
    whatHappened: 'A rule or a limit of a contract blocked the call.',
    whyItMatters: 'The body never ran. The rule and the version of the contract are on the record.',
    forModel: 'A rule did not allow the call. Ask for something else that meets the reason given.',
    whatToDo:
      'Ask for something the rule allows; its message is in the details. Otherwise whoever owns the contract changes the rule.',
  },
  'policy.output': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A contract kept the output back',
    whatHappened: 'The body ran and a rule about outputs blocked what it returned.',
    whyItMatters: 'The effect is real although its answer is not shown: do not repeat the call to see it.',
    forModel: 'The call ran, and a rule keeps its answer back. Do not repeat it to see the answer.',
    whatToDo:
      'Ask for something else, or let whoever owns the contract look at the rule and at the kept record.',
  },
  'policy.protected': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: "The call names the runtime's own files",
    whatHappened:
      "The arguments name one of the runtime's own files, or a folder that holds one: the ledger and what lies beside it, a contract file in force, the runtime package.",
    whyItMatters:
      'An agent that can read the key or write the ledger is no longer governed. The body never ran, and neither a rule nor a person can allow the call.',
    forModel: 'The call names files that no call may reach. Ask for other files.',
    whatToDo:
      "Ask for other files. Where the agent's folder holds the ledger, move the ledger out of it. Give tools that only read the mode `read`.",
  },
  'budget.tool_calls_exhausted': {
    whoseMove: 'budget',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'No tool calls are left',
    whatHappened: 'As many bodies as the budget allows have started under this scope.',
    whyItMatters: 'Every further call of the scope will be denied until the budget is renewed.',
    forModel: 'No tool calls are left. Finish with what you have.',
    whatToDo: 'Raise the budget for the next run, or live with the partial result that is recorded.',
  },
  'budget.cost_exhausted': {
    whoseMove: 'budget',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'No money is left',
    whatHappened: 'What the call may cost is more than the budget still holds under this scope.',
    whyItMatters: 'The call was refused before it could spend anything.',
    forModel: 'The budget has too little left for this call. Finish with what you have.',
    whatToDo: 'Raise the budget for the next run, choose a cheaper tool, or live with the partial result.',
  },
  'call.duplicate': {
    whoseMove: 'nobody',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_earlier_result',
    title: 'The same call succeeded already',
    whatHappened:
      'An idempotent tool was called with the same input a second time in one turn, and the first call had succeeded.',
    whyItMatters: 'Running it again would cost and change nothing.',
    forModel: 'The same call succeeded before. Use its result.',
    whatToDo: 'Use the result of the earlier call, which the details name.',
  },
  'call.loop': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'The same call keeps giving the same answer',
    whatHappened: 'Several calls in a row had the same tool, the same input and the same outcome.',
    whyItMatters: 'An agent in a loop spends money and time and learns nothing.',
    forModel: 'The same call keeps giving the same answer. Do something else.',
    whatToDo: 'Do something else. A tool that is meant to be polled can be given a higher limit.',
  },
  'call.twin': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'await_person',
    title: 'An earlier call like this one may have worked',
    whatHappened:
      'An earlier call of the session with the same tool and input timed out, failed after it had begun or is indeterminate, and the tool may not be run again.',
    whyItMatters: 'A model that retries under a new id is the commonest way to pay twice.',
    forModel:
      'An earlier call like this one may have happened. Wait until a person has found out; do not repeat it.',
    whatToDo:
      'Find out what became of the earlier call, then let a person decide. The tool can set `rerun` to ask, deny or allow.',
  },
  'call.blocked': {
    whoseMove: 'nobody',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_another_tool',
    title: 'The tool is closed for this turn',
    whatHappened: 'The tool failed earlier in this turn in a way that trying again cannot mend.',
    whyItMatters: 'The body never ran. It would have failed again.',
    forModel: 'The tool failed earlier in this turn. Use another tool.',
    whatToDo: 'Use another tool, or begin a new turn once the cause is mended.',
  },
  'call.conflict': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'use_new_id',
    title: 'This id or key belongs to another call',
    whatHappened:
      'The call id was used in this session for another tool or other arguments, or the idempotency key for other arguments.',
    whyItMatters:
      'The outcome on record belongs to the earlier call. Answering with it would be a lie; running under its id would hide it.',
    forModel: 'The id of this call belongs to another call. Make the call again under a new id.',
    whatToDo:
      'Give every new call an id of its own. Ask with the old id only with the same tool and arguments.',
  },
  'turn.deadline': {
    whoseMove: 'nobody',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'The time of the turn is up',
    whatHappened: 'The deadline of the turn had passed before the body could start.',
    whyItMatters: 'Every further call of this turn will be denied.',
    forModel: 'The time for this turn is up. Finish with what you have.',
    whatToDo: 'Finish with what there is, or begin a new turn with more time.',
  },
  'turn.ended': {
    whoseMove: 'nobody',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'The turn is over',
    whatHappened: 'The turn was ended, or a terminal result ended it, before the body could start.',
    whyItMatters: 'Every further call of this turn will be denied.',
    forModel: 'This turn is over. Finish with what you have.',
    whatToDo: 'Begin a new turn if there is more to do.',
  },
  'confirmation.rejected': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A person said no',
    whatHappened: 'The call was held for a person, who denied it.',
    whyItMatters: 'The body never ran. The name of the person is on the record.',
    forModel: 'A person did not allow the call. Respect that; ask for something else.',
    whatToDo: 'Respect the decision: ask for something else, or talk to that person.',
  },
  'confirmation.answered': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'read_answer',
    title: 'A person answered instead',
    whatHappened: 'The call was held for a person, who wrote an answer instead of letting it run.',
    whyItMatters: 'The body never ran. The answer is in the details and stands in place of a result.',
    forModel: 'A person answered instead of letting the call run. Read the answer and go on from there.',
    whatToDo: 'Read the answer and go on from there.',
  },
  'confirmation.expired': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'ask_again',
    title: 'Nobody decided in time',
    whatHappened: 'The call was held for a person and the time for a decision ran out.',
    whyItMatters: 'The body never ran. Silence is not consent, and it is not a refusal either.',
    forModel: 'Nobody decided on the call in time, so it did not run. Say so, and go on without it.',
    whatToDo: 'Ask again under a new call id when somebody is there to decide, or allow more time.',
  },
  'preview.failed': {
    whoseMove: "the tool's author",
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'ask_again',
    title: 'What the tool would do could not be shown',
    whatHappened: 'The preview of the tool threw, took too long or gave something that cannot be kept.',
    whyItMatters:
      'The body never ran. What cannot be shown cannot be judged by rules, nor approved by a person.',
    forModel: 'What the call would do could not be shown, so it did not run. Go on without it.',
    whatToDo: 'Read the details, mend the preview of the tool, and ask again under a new call id.',
  },
});

/** Every reason code, in the order of the table. */
export const reasonCodes: readonly ReasonCode[] = Object.keys(reasonTable).filter(isReasonCode);

/** Narrows a word to a reason code. */
export function isReasonCode(value: unknown): value is ReasonCode {
  return typeof value === 'string' && Object.hasOwn(reasonTable, value);
}

/** What a reason code means. */
export const reasonOf = (code: ReasonCode): Reason => reasonTable[code];
