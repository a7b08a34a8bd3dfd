/** What someone may do in the console: look; answer questions, too; change what the gateway does, too. */
export type ConsoleRole = 'viewer' | 'approver' | 'operator'

export const CONSOLE_ROLES: readonly ConsoleRole[] = ['viewer', 'approver', 'operator']
