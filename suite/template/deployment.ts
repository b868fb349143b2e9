/** A deployment that runs. Its addresses and credentials come from the environment. */
import { deployment } from 'token-exchange-suite/deployment'

export default deployment(process.env)
