import langChain from './harnesses/langchain.ts';
import langGraph from './harnesses/langgraph.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(langChain);
behaviourSuite(langGraph);
