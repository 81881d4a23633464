import aiSdk6 from './harnesses/ai-sdk-6.ts';
import aiSdk7 from './harnesses/ai-sdk-7.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(aiSdk7);
behaviourSuite(aiSdk6);
