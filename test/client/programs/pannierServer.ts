/** The kitchen of Pannier: `stdio`, or HTTP with its address in its first line. Bearer tokens are names, if there are any. */
import { AuthError } from 'pannier/server'
import { makePannierServer } from '../fixtures/servers/pannier.ts'

const wantsToken = process.argv.includes('token')
const server = makePannierServer(
  wantsToken
    ? {
        principal: ({ header }) => {
          const id = /^Bearer (\w+)$/.exec(header('authorization') ?? '')?.[1]
          if (id === undefined) throw new AuthError('AUTH_MISSING', 'A token is needed.')
          return { id }
        },
      }
    : {},
)
if (process.argv.includes('stdio')) await server.stdio()
else process.stdout.write(`${(await server.listen()).url}\n`)
