import mastra from './harnesses/mastra.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(mastra);
