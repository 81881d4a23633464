import * as sdk7 from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import * as sdk6 from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import { governTools } from '@quittance/ai-sdk';
import type { AiSdk, MockModel } from '../harnesses/ai-sdk.ts';
import { scriptedModel, toTool } from '../harnesses/ai-sdk.ts';
import type { Lane } from './lane.ts';

const aiSdkLane = (name: string, sdk: AiSdk, Mock: MockModel): Lane => ({
  name,
  async start(tool, options) {
    const plain = { [tool.name]: toTool(sdk, tool) };
    const governed = options && (await governTools(plain, options));
    return (script, sessionId) =>
      sdk.generateText({
        model: scriptedModel(Mock, script, [], 1),
        prompt: 'Go.',
        tools: governed === undefined ? plain : governed.run({ sessionId }).tools,
        stopWhen: sdk.stepCountIs(1_000),
      } as never);
  },
});

// The harness declares the parts of the package that it uses; the types of the two versions differ elsewhere.
export const aiSdk7: Lane = aiSdkLane('AI SDK 7', sdk7 as never, MockLanguageModelV4 as never);
export const aiSdk6: Lane = aiSdkLane('AI SDK 6', sdk6 as never, MockLanguageModelV3 as never);
