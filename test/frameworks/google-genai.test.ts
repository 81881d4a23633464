import loop from './harnesses/google-genai.ts';
import automatic from './harnesses/google-genai-automatic.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(loop);
behaviorSuite(automatic);
