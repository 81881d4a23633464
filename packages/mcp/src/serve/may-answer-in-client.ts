/** Which questions the person at an MCP client may answer, where the host lets that person decide at all. */
import type { Ask } from 'quittance/internal/call/event';

/** Rules of the gateway about a tool. Like its mode, they are covered by what the host says about the tool. */
const rulesOfTools: ReadonlySet<string> = new Set(['mcp-tool-not-reviewed', 'mcp-tool-asks']);
/** A person must look at the difference first, and the client does not show it. */
const changedTool = 'mcp-tool-changed';

/**
 * Never in the client: rules that name their approvers, stages of workflows, and tools that changed since they were
 * approved. Nor a call that looks like an earlier one with an unknown effect.
 */
const isForOthers = ({ by, approval, stage, code }: Ask): boolean =>
  approval !== undefined ||
  stage !== undefined ||
  code === 'call.twin' ||
  (by.type === 'rule' && by.name === changedTool);

/** Does the tool itself ask, by its mode or because it has no review, and not a rule of the host? */
const isOfTool = ({ by }: Ask): boolean =>
  (by.type === 'gate' && by.name === 'mode') || (by.type === 'rule' && rulesOfTools.has(by.name));

/** `allows` decides about each question that could be answered in the client. All of them must be allowed. */
export const mayAnswerInClient = (
  asks: readonly Ask[],
  allows: (ask: Ask, isOfTool: boolean) => boolean,
): boolean => asks.length > 0 && asks.every((ask) => !isForOthers(ask) && allows(ask, isOfTool(ask)));
