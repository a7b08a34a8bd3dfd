import type { LoggingLevel } from '@modelcontextprotocol/client'

const ORDER: readonly LoggingLevel[] = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

const rank = new Map<unknown, number>(ORDER.map((level, index) => [level, index]))

export function isLogLevel(value: unknown): value is LoggingLevel {
  return rank.has(value)
}

/** Whether a message of `level` is wanted by someone who asked for `minimum` and above. */
export function reaches(level: LoggingLevel, minimum: LoggingLevel): boolean {
  return (rank.get(level) ?? 0) >= (rank.get(minimum) ?? 0)
}
