import type { CallInHand } from './call-in-hand.ts';

/** What makes a call risky, in words for whoever is asked about it. */
export function riskOf(hand: CallInHand): readonly string[] {
  const { mode, modeOrigin, idempotent } = hand.knownTool;
  const words: string[] = [];
  if (mode === 'destructive') words.push('destructive');
  if (mode === 'external') words.push('reaches outside');
  if (mode === 'local') words.push('touches this machine');
  if (modeOrigin === 'default') words.push('unknown kind of tool');
  if (mode !== 'read' && !idempotent) words.push('cannot be repeated safely');
  if (hand.twins.length > 0) words.push('may have happened already');
  if (hand.policy?.toolFacts(hand.knownTool.name).sideEffect === 'irreversible' && mode !== 'read')
    words.push('irreversible');
  return words;
}
