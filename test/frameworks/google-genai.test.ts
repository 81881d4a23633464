import loop from './harnesses/google-genai.ts';
import automatic from './harnesses/google-genai-automatic.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(loop);
behaviourSuite(automatic);
