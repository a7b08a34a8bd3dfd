/** The gateway of `npm run demo -- approval`: each run is a process of its own, with the same store and the same keys. */
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import type { Authenticator } from 'pannier/server'

const { STORE = '', FILES = '' } = process.env

// #region config
/** What would stand in mcp.json. */
export function configOf(files: string, store: string) {
  return gatewayConfigOf({
    mcpServers: { files: { url: files } },
    gateway: {
      admin: false,
      store,
      audit: { folder: auditOf(store) },
      approve: [{ if: 'tool.annotations.destructiveHint', by: 'role:manager', fourEyes: true, for: '15m' }],
    },
  })
}

/** The audit log lies beside the store. */
export function auditOf(store: string): string {
  return `${store}-audit`
}
// #endregion config

/** `Authorization: Bearer mia` is Mia. A gateway of your own verifies tokens, with "principal" in the file. */
export const principal: Authenticator = ({ header }) => {
  const name = header('authorization')?.replace('Bearer ', '')
  return name === undefined ? undefined : personNamed(name)
}

export function personNamed(name: string) {
  return { id: name, subject: name, claims: { role: name === 'mia' ? 'manager' : 'clerk' } }
}

if (process.send !== undefined) {
  const gateway = createGateway({ ...(await configOf(FILES, STORE)), principal })
  const { url } = await gateway.listen()
  await gateway.tried()
  process.send({ url })
}
