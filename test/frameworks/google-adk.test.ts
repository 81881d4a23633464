import adk from './harnesses/google-adk.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(adk);
