/** A graph of LangGraph, drawn by hand, with a node of tools that are governed. */
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import type { Harness } from '../suite/harness.ts';
import { langChainHarness } from './langchain-harness.ts';

const harness: Harness = langChainHarness('LangGraph', import.meta.url, ({ governed, model, checkpointer }) =>
  new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', new ToolNode(governed.tools))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsCondition)
    .addEdge('tools', 'model')
    .compile({ checkpointer }),
);

export default harness;
