/** A deployment that runs. Its addresses and credentials come from the environment; `template/deployment.ts` lists the variables. */
import { deployment } from '../src/drivers/deployment.ts'

export default deployment(process.env)
