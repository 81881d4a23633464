import openAiAgents from './harnesses/openai-agents.ts';
import { behaviourSuite } from './suite/behaviour-suite.ts';

behaviourSuite(openAiAgents);
