/** `useAgUiRuntime` of assistant-ui in a React tree, with the answers of its tool approvals. */
import type { AssistantRuntime } from '@assistant-ui/react';
import { AssistantRuntimeProvider, useAssistantTool } from '@assistant-ui/react';
import { useAgUiRuntime } from '@assistant-ui/react-ag-ui';
import { createElement, useEffect, useState } from 'react';
import { create } from 'react-test-renderer';
import type { AgUiConnection, ConnectAgUi, PageTool } from './ag-ui-client.ts';
import { loadHttpAgent, parseResult } from './ag-ui-client.ts';

export const connectAssistantUi: ConnectAgUi = async ({ url, threadId, pageTools = [] }: AgUiConnection) => {
  const Agent = await loadHttpAgent('@assistant-ui/react-ag-ui');
  const agent = new Agent({ url, threadId });
  const errors: unknown[] = [];
  let runtime: AssistantRuntime | undefined;
  let rendered = Promise.withResolvers<void>();
  let renders = 0;
  let render = (): void => undefined;
  const PageToolOf = ({ tool: { name, run } }: { readonly tool: PageTool }): null => {
    useAssistantTool({
      toolName: name,
      type: 'frontend',
      description: name,
      parameters: { type: 'object' },
      execute: run,
    });
    return null;
  };
  const App = () => {
    runtime = useAgUiRuntime({ agent: agent as never, onError: (error) => void errors.push(error) });
    const [count, setCount] = useState(renders);
    useEffect(() => {
      render = () => setCount(++renders);
      if (count === renders) rendered.resolve();
    });
    return createElement(
      AssistantRuntimeProvider,
      { runtime },
      pageTools.map((tool) => createElement(PageToolOf, { tool, key: tool.name })),
    );
  };
  const root = create(createElement(App));
  await rendered.promise;
  const thread = () => {
    if (runtime === undefined) throw new Error('React did not render the runtime.');
    return runtime.thread;
  };
  const parts = () =>
    thread()
      .getState()
      .messages.flatMap(({ content }) =>
        content.flatMap((part) => (part.type === 'tool-call' ? [part] : [])),
      );
  const open = () =>
    parts().filter(({ approval }) => approval !== undefined && approval.approved === undefined);
  let run = Promise.withResolvers<void>();
  agent.subscribe({ onRunFinalized: () => run.resolve() });
  /** Starts a run, and waits until it has ended and React has rendered the end. */
  const during = async (start: () => void): Promise<void> => {
    run = Promise.withResolvers();
    start();
    await run.promise;
    do {
      rendered = Promise.withResolvers();
      render();
      await rendered.promise;
    } while (thread().getState().isRunning);
    const [error] = errors.splice(0);
    if (error !== undefined) throw error;
  };
  return {
    say: (text) => during(() => thread().append({ role: 'user', content: [{ type: 'text', text }] })),
    asked: () => open().map(({ toolCallId }) => toolCallId),
    answer: (isApproved, reason) =>
      during(() => {
        const { messages } = thread().getState();
        const last = thread().getMessageByIndex(messages.length - 1);
        for (const { toolCallId } of open())
          void last
            .getMessagePartByToolCallId(toolCallId)
            .respondToToolApproval({
              approved: isApproved(toolCallId),
              ...(reason !== undefined && { reason }),
            })
            .catch((error: unknown) => errors.push(error));
      }),
    shownCall(callId) {
      const found = parts().find(({ toolCallId }) => toolCallId === callId);
      return found && { name: found.toolName, args: found.args };
    },
    results: (callId) =>
      parts().flatMap(({ toolCallId, result }) =>
        toolCallId === callId && result !== undefined ? [parseResult(result)] : [],
      ),
    lastText() {
      const texts = thread()
        .getState()
        .messages.filter(({ role }) => role === 'assistant')
        .flatMap(({ content }) => content.flatMap((part) => (part.type === 'text' ? [part.text] : [])));
      return texts.at(-1);
    },
    close: () => root.unmount(),
  };
};
