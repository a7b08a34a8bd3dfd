import { JournalError } from './errors.ts'

export function assertKey(key: unknown): void {
  if (typeof key === 'string' && key.length > 0 && key.length <= 256) return
  throw new JournalError('KEY_INVALID', 'A key must be a string of 1 to 256 characters.')
}

export function reused(how: string, key: string): JournalError {
  return new JournalError('KEY_REUSED', `The key "${key}" ${how}; give each its own key.`)
}
