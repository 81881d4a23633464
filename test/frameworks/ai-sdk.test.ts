import aiSdk6 from './harnesses/ai-sdk-6.ts';
import aiSdk7 from './harnesses/ai-sdk-7.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(aiSdk7);
behaviorSuite(aiSdk6);
