/**
 * What a waiting `ask` rejects with when its round ends. It only unwinds the handler, so that `finally` blocks run;
 * the outcome is recorded elsewhere, and a handler that swallows this changes nothing.
 */
class RoundEnded extends Error {
  override readonly name = 'RoundEnded'
}

// One object for all rounds: it carries nothing, and a stack trace each would cost more than the round itself.
export const roundEnded: Error = Object.freeze(
  new RoundEnded('This round has ended; the handler runs again when the answers arrive. Let this error pass.'),
)

export function isRoundEnded(error: unknown): boolean {
  return error === roundEnded
}
