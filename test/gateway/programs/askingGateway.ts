/** A gateway as a process: its configuration is in CONFIG, callers are named by the header x-name, and it sends its address. */
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { byName } from '../../questions/fixtures/names.ts'

const { CONFIG = '{}' } = process.env
const gateway = createGateway({ ...(await gatewayConfigOf(JSON.parse(CONFIG) as object)), principal: byName })
const { url } = await gateway.listen()
await gateway.tried()
process.send?.({ url })
