import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kafkaRecipe, javaOnlyNeeds } from '../kafka-server-options.js';
import { KafkaServer } from '../kafka-server.js';
import { KafkaUnavailableError } from '../kafka-unavailable-error.js';
import { makeCertificates } from './certificates.js';
import { listenerSettings } from './listeners.js';
import { scramUsers, securitySettings } from './security-settings.js';

const users = { anna: 'a-secret', bert: 'b-secret' };

describe('listenerSettings', () => {
  it('adds secured listeners to the plain one, each with its protocol', () => {
    const ports = { plain: 1, controller: 2, secured: { a: 3, b: 4, c: 5, d: 6 } };
    const settings = listenerSettings(ports, {
      a: {},
      b: { tls: 'server' },
      c: { sasl: 'PLAIN' },
      d: { tls: 'mutual', sasl: 'OAUTHBEARER' },
    });
    const clients =
      'PLAINTEXT://127.0.0.1:1,A://127.0.0.1:3,B://127.0.0.1:4,C://127.0.0.1:5,D://127.0.0.1:6';
    expect(settings).toMatchObject({
      listeners: `${clients},CONTROLLER://127.0.0.1:2`,
      'advertised.listeners': clients,
      'inter.broker.listener.name': 'PLAINTEXT',
    });
    expect(settings['listener.security.protocol.map']).toContain(
      'A:PLAINTEXT,B:SSL,C:SASL_PLAINTEXT,D:SASL_SSL',
    );
  });
});

describe('securitySettings', () => {
  it('is empty without security options', () => {
    expect(securitySettings(kafkaRecipe({}).security, '/certificates')).toEqual({});
  });

  it('contains the users of PLAIN, and the time after which a client must authenticate again', () => {
    const listeners = { inner: { sasl: 'PLAIN', maxReauthMs: 2_000 } } as const;
    expect(securitySettings({ listeners, users }, '/certificates')).toEqual({
      'listener.name.inner.sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.inner.plain.sasl.jaas.config':
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_anna="a-secret" user_bert="b-secret";',
      'listener.name.inner.plain.connections.max.reauth.ms': '2000',
    });
  });

  it('formats SCRAM users once for each mechanism', () => {
    const listeners = {
      one: { sasl: 'SCRAM-SHA-256' },
      two: { sasl: 'SCRAM-SHA-256', tls: 'server' },
      three: { sasl: 'PLAIN' },
    } as const;
    expect(scramUsers({ listeners, users })).toEqual([
      'SCRAM-SHA-256=[name=anna,password=a-secret]',
      'SCRAM-SHA-256=[name=bert,password=b-secret]',
    ]);
  });

  it('requires a client certificate for mutual TLS, and configures an authorizer', () => {
    const security = { listeners: { m: { tls: 'mutual' } }, authorizer: true } as const;
    expect(securitySettings(security, '/certificates')).toMatchObject({
      'ssl.keystore.location': '/certificates/broker.p12',
      'ssl.truststore.location': '/certificates/client.pem',
      'listener.name.m.ssl.client.auth': 'required',
      'super.users': 'User:ANONYMOUS',
    });
  });

  it('requires a broker that runs in local Java, not in a container', () => {
    expect(javaOnlyNeeds(kafkaRecipe({ security: { listeners: { a: {} } } }))).toEqual([
      'security',
    ]);
    expect(javaOnlyNeeds(kafkaRecipe({ security: { listeners: {}, authorizer: true } }))).toEqual([
      'security',
    ]);
  });
});

describe('makeCertificates without keytool', () => {
  const { PATH, JAVA_HOME } = process.env;
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'without-keytool-'));
    process.env['PATH'] = folder;
    delete process.env['JAVA_HOME'];
  });
  afterEach(async () => {
    process.env['PATH'] = PATH;
    if (JAVA_HOME !== undefined) process.env['JAVA_HOME'] = JAVA_HOME;
    await rm(folder, { recursive: true });
  });

  it('throws KafkaUnavailableError with the reason', async () => {
    expect(KafkaServer.missingForTls()).toContain('keytool');
    const made = makeCertificates(folder);
    await expect(made).rejects.toThrow(KafkaUnavailableError);
    await expect(made).rejects.toThrow(
      /needs Java with keytool .*no "keytool" in JAVA_HOME or PATH/,
    );
  });
});
