/** `CopilotKitCore`, the client below all user interfaces of CopilotKit, with the answers of `useInterrupt`. */
import type { HttpAgent } from '@ag-ui/client';
import { CopilotKitCore, ɵInterruptState } from '@copilotkit/core';
import type { ConnectAgUi } from './ag-ui-client.ts';
import { loadHttpAgent, parseResult } from './ag-ui-client.ts';

export const connectCopilotKit: ConnectAgUi = async ({ url, threadId, pageTools = [] }) => {
  const Agent = await loadHttpAgent('@copilotkit/core');
  const agent: HttpAgent = new Agent({ agentId: 'default', url, threadId });
  const core = new CopilotKitCore({
    agents__unsafe_dev_only: { default: agent as never }, // another version of the same class
    tools: pageTools.map(({ name, run }) => ({ name, handler: run })),
  });
  const interrupts = new ɵInterruptState();
  const errors: Error[] = [];
  core.subscribe({ onError: ({ error }) => void errors.push(error) });
  agent.subscribe({
    onRunFinishedEvent: ({ event }) => {
      if (event.outcome?.type === 'interrupt') interrupts.setStandard(event.outcome.interrupts as never);
      else interrupts.clear();
    },
  });
  const run = async (given: object = {}): Promise<void> => {
    await core.runAgent({ agent: agent as never, ...given });
    const [error] = errors.splice(0);
    if (error !== undefined) throw error;
  };
  const pending = () => {
    const open = interrupts.pending;
    return open?.kind === 'standard' ? open.interrupts : [];
  };
  return {
    async say(text) {
      agent.addMessage({ id: `user-${agent.messages.length}`, role: 'user', content: text });
      await run();
    },
    asked: () => pending().flatMap(({ toolCallId }) => toolCallId ?? []),
    async answer(isApproved, reason) {
      const decisions = pending().map(({ id, toolCallId = '' }) =>
        interrupts.resolve({ approved: isApproved(toolCallId), ...(reason !== undefined && { reason }) }, id),
      );
      const last = decisions.at(-1);
      if (last?.kind !== 'resume') throw new Error(`CopilotKit does not resume: ${last?.kind}`);
      // As `useInterrupt` of @copilotkit/react-core does it.
      for (const { toolCallId, content } of last.toolResults)
        agent.addMessage({ id: `answer-${toolCallId}`, role: 'tool', toolCallId, content });
      await run({ resume: last.resume });
    },
    shownCall(callId) {
      const found = agent.messages
        .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
        .find(({ id }) => id === callId)?.function;
      return found && { name: found.name, args: JSON.parse(found.arguments) as unknown };
    },
    results: (callId) =>
      agent.messages.flatMap((message) =>
        message.role === 'tool' && message.toolCallId === callId ? [parseResult(message.content)] : [],
      ),
    lastText() {
      const last = agent.messages.findLast(
        ({ role, content }) => role === 'assistant' && content !== undefined,
      );
      return typeof last?.content === 'string' ? last.content : undefined;
    },
    close: () => agent.abortRun(),
  };
};
