import mastra from './harnesses/mastra.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(mastra);
