/** Reason codes for rules and budgets. */
import type { Reason } from './reason.ts';

export type PolicyReasonCode =
  | 'policy.hook'
  | 'policy.contract'
  | 'policy.output'
  | 'policy.protected'
  | 'budget.tool_calls_exhausted'
  | 'budget.cost_exhausted';

export const policyReasons: { readonly [Code in PolicyReasonCode]: Reason } = {
  'policy.hook': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A hook denied the call',
    whatHappened: 'A hook that checks calls before they run blocked this one, or failed to answer.',
    whyItMatters: 'The body never ran. The same call will get the same answer.',
    forModel: 'A check did not allow the call. Ask for something else that meets the reason given.',
    whatToDo:
      'Request something that the hook allows; its reason is in the details. Otherwise the host must change the hook.',
  },
  'policy.contract': {
    whoseMove: 'your inputs',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A contract denied the call',
    whatHappened: 'A rule or a limit of a contract blocked the call.',
    whyItMatters: 'The body never ran. The rule and the version of the contract are recorded.',
    forModel: 'A rule did not allow the call. Ask for something else that meets the reason given.',
    whatToDo:
      'Request something that the rule allows; its message is in the details. Otherwise the owner of the contract must change the rule.',
  },
  'policy.output': {
    whoseMove: 'a person',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: false,
    nextAction: 'change_request',
    title: 'A contract withheld the output',
    whatHappened: 'The body ran and a rule about outputs blocked its output.',
    whyItMatters: 'The effect is real although the output is not shown: do not repeat the call to see it.',
    forModel: 'The call ran, and a rule withholds its output. Do not repeat it to see the output.',
    whatToDo:
      'Request something else, or ask the owner of the contract to check the rule and the stored record.',
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
      "The arguments name one of the runtime's own files, or a folder that contains one. Own files are the ledger and its companions, contract files in force, and the runtime package.",
    whyItMatters:
      'An agent that can read the key or write the ledger is no longer governed. The body never ran, and neither a rule nor a person can allow the call.',
    forModel: 'The call names files that no call may reach. Ask for other files.',
    whatToDo:
      "Request other files. If the agent's folder contains the ledger, move the ledger out of it. Give tools that only read the mode `read`.",
  },
  'budget.tool_calls_exhausted': {
    whoseMove: 'budget',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'No tool calls are left',
    whatHappened: 'As many bodies as the budget allows have started in this scope.',
    whyItMatters: 'Every further call in this scope will be denied until the budget is renewed.',
    forModel: 'No tool calls are left. Finish with what you have.',
    whatToDo: 'Raise the budget for the next run, or accept the partial result that is recorded.',
  },
  'budget.cost_exhausted': {
    whoseMove: 'budget',
    retryable: false,
    blocksTool: false,
    bodyMayClaim: false,
    terminal: true,
    nextAction: 'stop',
    title: 'No money is left',
    whatHappened: 'The possible cost of the call is more than the budget has left in this scope.',
    whyItMatters: 'The call was denied before it could spend anything.',
    forModel: 'The budget has too little left for this call. Finish with what you have.',
    whatToDo: 'Raise the budget for the next run, choose a cheaper tool, or accept the partial result.',
  },
};
