/** The programs of docs/adapters/openai-agents.md, with the context that the page leaves out. Type-checked, never run. */
import type { FunctionTool } from '@openai/agents';
import { Agent, run, RunState } from '@openai/agents';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools } from '@quittance/openai-agents';

type Context = { readonly sessionId: string; readonly user: string };
declare const tools: FunctionTool<Context>[];
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const input: string;
declare const threadId: string;
declare const user: string;
declare function store(threadId: string, state: string): Promise<void>;
declare function load(threadId: string): Promise<string>;

export async function start(): Promise<unknown> {
  const governed = await governTools(tools, { ledger, contracts });
  const agent = new Agent({
    name: 'shop',
    tools: governed.tools,
  });
  const result = await run(agent, input, { context: { sessionId: threadId } });
  return result;
}

export async function approve(agent: Agent<Context>): Promise<unknown> {
  const governed = await governTools(tools, {
    approver: ({ runContext }) => (runContext.context as Context).user,
  });
  const stopped = await run(agent, input, { context: { sessionId: threadId, user } });
  await store(threadId, stopped.state.toString());

  // later, in any process
  const state = await RunState.fromString(agent, await load(threadId));
  for (const interruption of state.getInterruptions()) state.approve(interruption); // or reject
  await governed.takeApprovals(state);
  const result = await run(agent, state);
  return result;
}
