import { plainText } from '../../client/index.ts'

/** What a server wrote, in a line of ours. Its further lines are set in, so that none of them looks like one of ours. */
export function serverWords(text: string): string {
  return plainText(text).replaceAll('\n', '\n  ')
}
