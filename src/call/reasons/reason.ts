/** Who can fix the cause. */
export type WhoseMove =
  | 'retry'
  | 'your inputs'
  | "the tool's author"
  | 're-record'
  | 'budget'
  | 'a person'
  | 'no action';

/** What a machine may do next: the `nextAction` of a derived ToolResult. */
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
  /** May the same call be retried, unless the outcome says otherwise? */
  readonly retryable: boolean;
  /** Does a failure with this code that may not be retried block the tool for the rest of the turn? */
  readonly blocksTool: boolean;
  /** May a body claim this code in a ToolError? Only the runtime uses any other. */
  readonly bodyMayClaim: boolean;
  /** Does a derived ToolResult end the turn? */
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
