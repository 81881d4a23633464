/**
 * A fault of a preview. The message continues "The preview of the tool"; a recorded preview reports it the
 * same way.
 */
class PreviewProblem extends Error {}

export const previewEndedWith = (problem: string): Error => new PreviewProblem(problem);

export const previewProblemOf = (thrown: unknown): string | undefined =>
  thrown instanceof PreviewProblem ? thrown.message : undefined;
