/**
 * Typing in a choice: letters lead to the option that begins with them, and Enter takes it, as with the arrow keys. The
 * prompts have no such keys, so letters are turned into the arrow keys that lead there. Invariants:
 * - letters alone answer nothing;
 * - once a word has begun, the letters that prompts move by (h, j, k and l) belong to the word.
 */
import type { Key } from 'node:readline'
import type { Readable } from 'node:stream'
import { settings } from '@clack/prompts'

/** Follows what is typed until the returned function is called. The prompt begins at the option `initial`. */
export function followTyping(input: Readable, labels: readonly string[], initial: number): () => void {
  const options = labels.map((label) => label.toLowerCase())
  let at = initial
  let typed = ''
  let isOurs = false
  const onKey = (text: string | undefined, key: Key | undefined): void => {
    if (isOurs) return
    const step = stepOf(key)
    const next = wordAfter(typed, letterOf(text, key), options)
    const target = next === '' ? at + step : (indexOf(next, options) ?? at)
    // The prompt takes the last step by itself.
    const steps = wrapped(target - step - at, options.length)
    isOurs = true
    for (let moved = 0; moved < steps; moved++) input.emit('keypress', undefined, DOWN)
    isOurs = false
    typed = next
    at = wrapped(target, options.length)
  }
  input.prependListener('keypress', onKey)
  return () => void input.removeListener('keypress', onKey)
}

const DOWN: Key = { name: 'down', sequence: '\u001b[B' }

/**
 * The word that is being typed. A letter that fits no option together with what was typed before begins another word, if
 * it fits one alone: who typed y and then n means no.
 */
function wordAfter(typed: string, letter: string | undefined, options: readonly string[]): string {
  if (letter === undefined) return ''
  const fits = (word: string): boolean => indexOf(word, options) !== undefined
  if (fits(letter) && !fits(`${typed}${letter}`)) return letter
  return typed === '' && !fits(letter) ? '' : `${typed}${letter}`
}

function indexOf(word: string, options: readonly string[]): number | undefined {
  const index = options.findIndex((option) => option.startsWith(word))
  return index < 0 ? undefined : index
}

function letterOf(text: string | undefined, key: Key | undefined): string | undefined {
  if (text === undefined || key?.ctrl === true || key?.meta === true) return undefined
  return /^[\p{L}\p{N}]$/u.test(text) ? text.toLowerCase() : undefined
}

/** How the prompt itself moves at this key: by the arrow keys, and by letters that stand for them. */
function stepOf(key: Key | undefined): number {
  const name = key?.name ?? ''
  switch (settings.aliases.get(name) ?? name) {
    case 'up':
    case 'left':
      return -1
    case 'down':
    case 'right':
      return 1
    default:
      return 0
  }
}

function wrapped(index: number, count: number): number {
  return ((index % count) + count) % count
}
