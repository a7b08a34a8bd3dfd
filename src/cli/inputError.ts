/** What the user gave cannot be used. The message says what to give instead. */
export class InputError extends Error {
  override readonly name = 'InputError'
}
