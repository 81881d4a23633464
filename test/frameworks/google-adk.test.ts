import adk from './harnesses/google-adk.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(adk);
