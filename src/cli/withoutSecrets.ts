/** Hides every long word, in case a key was typed where a command or an option belongs. */
export function withoutSecrets(text: string): string {
  return text.replace(/[\w+/=-]{30,}/g, '[hidden]')
}
