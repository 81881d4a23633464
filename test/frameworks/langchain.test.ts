import langChain from './harnesses/langchain.ts';
import langGraph from './harnesses/langgraph.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(langChain);
behaviorSuite(langGraph);
