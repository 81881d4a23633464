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
