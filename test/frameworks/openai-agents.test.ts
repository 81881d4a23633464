import openAiAgents from './harnesses/openai-agents.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

behaviorSuite(openAiAgents);
