/** A hand-built graph of LangGraph, with a node of governed tools. */
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import type { Harness } from '../suite/harness.ts';
import { langChainHarness } from './langchain-harness.ts';

const graph: Harness = langChainHarness('LangGraph', import.meta.url, ({ governed, model, checkpointer }) =>
  new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', new ToolNode(governed.tools))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsCondition)
    .addEdge('tools', 'model')
    .compile({ checkpointer }),
);

// A node of tools skips calls whose id has an answer in the thread.
const harness: Harness = { ...graph, reuse: 'left out' };
export default harness;
