/** The server of docs/how-to/suspending.md, as a process that speaks on its standard streams. */
import { patientServer } from '../../../docs/snippets/suspending.ts'
import { offerOrder } from '../fixtures/orderTool.ts'

await offerOrder(patientServer()).stdio()
