/** The code of docs/how-to/authentication.md. */
// #region imports
import { createHash } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { AuthError, bearer, createServer, type Principal, type Server } from 'pannier/server'
import { z } from 'zod'
// #endregion imports

// #region hook
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex')
const users = new Map([[hashOf('a-long-random-key'), { id: 'user-1', scopes: ['write'] }]])

export const server = createServer({
  name: 'accounts',
  version: '1.0.0',
  principal: ({ header }) => {
    const key = header('x-api-key')
    if (key === undefined) {
      throw new AuthError('AUTH_MISSING', 'Send your key in the X-Api-Key header.', { challenge: 'ApiKey' })
    }
    const user = users.get(hashOf(key))
    if (user === undefined) throw new AuthError('AUTH_INVALID', 'That key is not known.', { challenge: 'ApiKey' })
    return user
  },
})
// #endregion hook

// #region principal
server.tool('rename', { description: 'Renames the account.' }, async (_, ctx) => {
  if (!ctx.principal?.scopes?.includes('write')) throw new Error('This account may only read.')
  const { name } = await ctx.ask('name', { message: 'The new name?', schema: z.object({ name: z.string() }) })
  return `The account of ${ctx.principal.id} is now called ${name}.`
})
// #endregion principal

// #region rules
server.tool('close_account', { description: 'Closes the account.', scopes: ['write'] }, () => 'Closed.')

const isStaff = (principal?: Principal) => principal?.id.startsWith('staff-') ?? false
server.tool('all_accounts', { description: 'Lists all accounts.', allow: isStaff }, () => 'user-1, user-2')
server.resource('accounts://report', { name: 'report', scopes: ['write'], allow: isStaff }, () => 'All is well.')
// #endregion rules

// #region bearer
export function protectedServer(jwks: string | JSONWebKeySet): Server {
  return createServer({
    name: 'protected',
    version: '1.0.0',
    principal: bearer({
      issuer: 'https://login.example.com',
      audience: 'https://mcp.example.com/mcp',
      jwks, // the address of the issuer's keys, such as https://login.example.com/keys, or the keys themselves
      scopes: ['mcp'],
    }),
  }).tool('whoami', { description: 'Says who calls.' }, (_, ctx) => `${ctx.principal?.subject}`)
}
// #endregion bearer

// #region hosts
export const guarded = createServer({
  name: 'guarded',
  version: '1.0.0',
  allowedHosts: ['mcp.example.com'],
  allowedOrigins: ['https://app.example.com'],
})
// #endregion hosts
