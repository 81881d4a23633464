/** Who can fix the cause. */
export type WhoseMove =
  | 'retry'
  | 'your inputs'
  | "the tool's author"
  | 're-record'
  | 'budget'
  | 'a person'
  | 'no action';

/** The next step for machines: the `nextAction` of a derived ToolResult. */
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

/** The meaning and the consequences of one reason code. */
export type Reason = {
  readonly whoseMove: WhoseMove;
  /** True if the same call may be retried, unless the outcome states otherwise. */
  readonly retryable: boolean;
  /** True if a failure with this code that may not be retried blocks the tool for the rest of the turn. */
  readonly blocksTool: boolean;
  /** True if a body may claim this code in a ToolError. Only the runtime uses the others. */
  readonly bodyMayClaim: boolean;
  /** True if a derived ToolResult ends the turn. */
  readonly terminal: boolean;
  readonly nextAction: NextAction;
  readonly title: string;
  readonly whatHappened: string;
  readonly whyItMatters: string;
  /**
   * For the model: facts about the call and what it may do next. Names no function, no option, and no way
   * around an approval.
   */
  readonly forModel: string;
  /** For the developer: options, functions, where to look. */
  readonly whatToDo: string;
};
