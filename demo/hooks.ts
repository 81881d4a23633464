/** The rules of the bakery, as a host writes them. */
import type { PreToolUse, Repair } from 'quittance/runtime';
import { ToolDecision } from 'quittance';

const largeRefund: PreToolUse = ({ toolName, arguments: { cents } }) =>
  toolName === 'refund' && Number(cents) > 10_000
    ? ToolDecision.requiresConfirmation(`A refund of ${Number(cents) / 100} is a lot.`)
    : ToolDecision.allow;

const stayInFolder: PreToolUse = ({ arguments: { path } }) =>
  typeof path === 'string' && /^\/|\.\./.test(path)
    ? ToolDecision.block(`Agents may not use files outside the folder: ${path}`)
    : ToolDecision.allow;

const blockedCustomers: PreToolUse = ({ toolName, arguments: { order } }) =>
  toolName === 'refund' && order === 666
    ? ToolDecision.block('Order 666 is under investigation.')
    : ToolDecision.allow;

export const hooks: readonly PreToolUse[] = [largeRefund, stayInFolder, blockedCustomers];

const numbers = new Map([
  ['seventeen', 17],
  ['eighteen', 18],
]);

/** Repairs arguments that no listed rule may change: this host can read number words. */
export const repair: Repair = ({ arguments: args }) => {
  const said = typeof args === 'object' && args !== null && 'id' in args ? args.id : undefined;
  const id = typeof said === 'string' ? numbers.get(said) : undefined;
  return id === undefined ? undefined : { id };
};
