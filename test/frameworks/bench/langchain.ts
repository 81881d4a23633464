import { HumanMessage } from '@langchain/core/messages';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { createAgent } from 'langchain';
import { governTools } from '@quittance/langchain';
import { ScriptedModel, toTool } from '../harnesses/langchain-harness.ts';
import type { Lane } from './lane.ts';

type Tools = ReturnType<typeof toTool>[];
type Graph = { invoke(input: never, config: object): Promise<unknown> };

const langChainLane = (name: string, build: (model: ScriptedModel, tools: Tools) => Graph): Lane => ({
  name,
  async start(tool, options) {
    const plain = [toTool(tool)];
    const tools = options === undefined ? plain : (await governTools(plain, options)).tools;
    return (script, sessionId) =>
      build(new ScriptedModel(script), tools).invoke({ messages: [new HumanMessage('Go.')] } as never, {
        configurable: { thread_id: sessionId },
        recursionLimit: 10_000,
      });
  },
});

export const langChain: Lane = langChainLane('LangChain', (model, tools) =>
  createAgent({ model, tools, checkpointer: new MemorySaver() }),
);

export const langGraph: Lane = langChainLane('LangGraph', (model, tools) =>
  new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', new ToolNode(tools))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsCondition)
    .addEdge('tools', 'model')
    .compile({ checkpointer: new MemorySaver() }),
);
